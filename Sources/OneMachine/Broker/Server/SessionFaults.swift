internal import Lifecycle

/// The injected faults of one connection's answers.
final class SessionFaults {
    private let decide: ResponseFaults
    /// An answer that is sent after the next one.
    private var swapped: [UInt8]?
    /// Answers behind a delayed one, which wait for it: a connection has one order.
    private var delayed: [[UInt8]] = []
    private var timer: LoopTimer?

    init(decide: @escaping ResponseFaults) {
        self.decide = decide
    }

    /// Applies the fault to an answer. `connection` is called when the answer is sent, because the
    /// connection may be gone after a delay.
    func apply(
        to header: RequestHeader, answer: [UInt8], connection: @escaping () -> TCPConnection?
    ) -> ResponseFault {
        let fault = decide(header.key, header.correlation)
        var leaving: [[UInt8]] = []
        switch fault {
        case .deliver: leaving = [answer]
        case .drop, .closeConnection: break
        case .duplicate: leaving = [answer, answer]
        case .delay(let milliseconds):
            leaving = [answer]
            startDelay(milliseconds: milliseconds, connection: connection)
        case .swapWithNext:
            swapped = answer
            return fault
        }
        if let earlier = swapped.take() { leaving.append(earlier) }
        if timer != nil {
            delayed += leaving
        } else {
            for each in leaving { connection()?.send(each) }
        }
        return fault
    }

    private func startDelay(milliseconds: Int, connection: @escaping () -> TCPConnection?) {
        guard timer == nil, let loop = connection()?.loop else { return }
        let timer = LoopTimer(on: loop) { [self] in
            self.timer = nil
            for each in delayed { connection()?.send(each) }
            delayed = []
        }
        timer.schedule(at: loop.now.advanced(byMilliseconds: milliseconds))
        self.timer = timer
    }
}
