# Two images of one base: the relay, and the command line with the controller. `npm run build` writes what they contain.
#   docker build --target relay -t tmc-relay .
#   docker build --target controller -t tmc-controller .
# There is no RUN, so that one machine builds the images of every platform of the base (amd64, arm64).

# The version of the devDependency "node", by the digest of its index of platforms.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS base
ENV NODE_ENV=production
WORKDIR /app
# By number, so that Kubernetes can see that it is not root. The programs write no files: the root file system may be read-only.
USER 1000:1000
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TMC_HEALTH_PORT || 8081}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

# The environment variables of the relay are in lib/relay/service/relay-settings.ts. The name ends with .mjs, because there is no
# package.json that declares the type of the module.
FROM base AS relay
COPY dist/relay.js /app/relay.mjs
ENTRYPOINT ["node", "/app/relay.mjs"]

# The npm package. The arguments of the container are those of `tmc`.
FROM base AS controller
COPY dist/package/ /app/
ENTRYPOINT ["node", "/app/tmc.js"]
CMD ["--help"]
