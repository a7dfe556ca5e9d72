internal import Lifecycle

/// The faults that a test injects into the answers of one connection.
final class SessionFaults {
    private let decide: ResponseFaults
    /// An answer that is sent after the next one.
    private var swapped: [UInt8]?
    /// A delayed answer and those behind it, which must not overtake it.
    private var delayed: [[UInt8]] = []
    private var timer: LoopTimer?

    init(decide: @escaping ResponseFaults) {
        self.decide = decide
    }

    /// Applies the fault to an answer and returns it. `connection` is called when the answer is sent, because
    /// the connection may be closed after a delay.
    func apply(
        to header: RequestHeader, answer: [UInt8], connection: @escaping () -> TCPConnection?
    ) -> ResponseFault {
        let fault = decide(header.key, header.correlation)
        var answersToSend: [[UInt8]] = []
        switch fault {
        case .deliver: answersToSend = [answer]
        case .drop, .closeConnection: break
        case .duplicate: answersToSend = [answer, answer]
        case .delay(let milliseconds):
            answersToSend = [answer]
            startDelay(milliseconds: milliseconds, connection: connection)
        case .swapWithNext:
            swapped = answer
            return fault
        }
        if let earlier = swapped.take() { answersToSend.append(earlier) }
        if timer != nil {
            delayed += answersToSend
        } else {
            for answer in answersToSend { connection()?.send(answer) }
        }
        return fault
    }

    private func startDelay(milliseconds: Int, connection: @escaping () -> TCPConnection?) {
        guard timer == nil, let loop = connection()?.loop else { return }
        let timer = LoopTimer(on: loop) { [self] in
            self.timer = nil
            for answer in delayed { connection()?.send(answer) }
            delayed = []
        }
        timer.schedule(at: loop.now.advanced(byMilliseconds: milliseconds))
        self.timer = timer
    }
}
