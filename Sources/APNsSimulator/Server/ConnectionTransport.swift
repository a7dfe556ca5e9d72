internal import Lifecycle
internal import TLS

/// What is under a connection's HTTP/2: TLS, or in a test nothing at all.
protocol ConnectionTransport: AnyObject {
    var loop: EventLoop { get }
    func wantsToSend()
    func pauseReading()
    func resumeReading()
    /// Sends what there is, then ends in good order.
    func finish()
    func close()
    /// Ends as a broken connection does.
    func reset()
}

extension TLSConnection: ConnectionTransport {}
