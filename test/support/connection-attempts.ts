import { Socket } from "node:net";

/** Every address that this process tries to connect to over TCP, as `ip:port`, since the recording started. */
export interface ConnectionAttempts {
  readonly addresses: readonly string[];
  stop(): void;
}

/** Records the attempts of all sockets, including TLS. Connections that are rejected before an attempt are not included. */
export function watchConnectionAttempts(): ConnectionAttempts {
  const addresses: string[] = [];
  const connect = Socket.prototype.connect;
  const watched = function (this: Socket, ...args: unknown[]): Socket {
    this.on("connectionAttempt", (ip: string, port: number) => void addresses.push(`${ip}:${port}`));
    return Reflect.apply(connect, this, args) as Socket; // connect returns its socket
  };
  Socket.prototype.connect = watched;
  return {
    addresses,
    stop: () => {
      Socket.prototype.connect = connect;
    },
  };
}
