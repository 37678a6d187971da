import { Socket } from "node:net";

/** Every address that this process tries to connect to over TCP, as `ip:port`, from the moment it is asked for. */
export interface ConnectionAttempts {
  readonly addresses: readonly string[];
  stop(): void;
}

/** Listens at all sockets, those of TLS included: what is refused before it is tried is not among them. */
export function watchConnectionAttempts(): ConnectionAttempts {
  const addresses: string[] = [];
  const connect = Socket.prototype.connect;
  const watched = function (this: Socket, ...args: unknown[]): Socket {
    this.on("connectionAttempt", (ip: string, port: number) => void addresses.push(`${ip}:${port}`));
    return Reflect.apply(connect, this, args) as Socket; // it answers itself
  };
  Socket.prototype.connect = watched;
  return {
    addresses,
    stop: () => {
      Socket.prototype.connect = connect;
    },
  };
}
