# The relay: one file on Node, for any machine that Node's own image is made for (arm64 and amd64).
# Build it with `npm run build && docker build -t tmc-relay .`; README.md of lib/relay says what it is told by the environment.
FROM node:24-slim

ENV NODE_ENV=production
WORKDIR /app
# By its ending Node knows what it is: no package.json is needed beside it.
COPY dist/relay.js /app/relay.mjs

# By its number, so that Kubernetes can see that it is not root. Nothing is written: the root file system may be read-only.
USER 1000:1000
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TMC_HEALTH_PORT || 8081}/livez`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/relay.mjs"]
