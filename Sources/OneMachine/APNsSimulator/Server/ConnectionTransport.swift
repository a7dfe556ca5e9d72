internal import Lifecycle
internal import TLS

/// The transport under a connection's HTTP/2: TLS, or a stub in tests.
protocol ConnectionTransport: AnyObject {
    var loop: EventLoop { get }
    func requestFill()
    func pauseReading()
    func resumeReading()
    /// Sends the remaining data, then closes in good order.
    func finish()
    func close()
    /// Closes like a broken connection.
    func reset()
}

extension TLSConnection: ConnectionTransport {}
