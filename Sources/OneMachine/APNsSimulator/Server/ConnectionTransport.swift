internal import Lifecycle
internal import TLS

/// The transport under a connection's HTTP/2: TLS, or a stub in tests. It is confined to `loop`.
protocol ConnectionTransport: AnyObject {
    var loop: EventLoop { get }
    /// Asks the transport to call `ServedConnection.fill`, because there is data to send.
    func requestFill()
    /// Reads no more bytes of the client until `resumeReading`.
    func pauseReading()
    func resumeReading()
    /// Sends the remaining data and a TLS close alert, then closes.
    func finish()
    /// Closes at once. Unsent data is dropped.
    func close()
    /// Closes at once, with a reset of the TCP connection.
    func reset()
}

extension TLSConnection: ConnectionTransport {}
