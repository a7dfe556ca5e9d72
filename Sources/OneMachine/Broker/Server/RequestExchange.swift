internal import Lifecycle

/// One request that needs an answer. A handler answers it at once or later, exactly once and on the
/// broker's loop. If the client has gone, the answer is dropped.
final class RequestExchange {
    let header: RequestHeader
    let arrival: Instant
    /// Weak, because the connection may be gone when the answer is ready.
    private weak var session: Session?
    /// The answer, if it is ready before the answers of earlier requests.
    private(set) var waiting: [UInt8]?
    /// Called when the client of a parked request is gone.
    var onAbandon: (() -> Void)?
    private var isAnswered = false

    init(header: RequestHeader, session: Session, arrival: Instant) {
        self.header = header
        self.session = session
        self.arrival = arrival
    }

    var version: Int16 { header.version }
    var clientHost: String { session?.peerHost ?? "" }

    /// Writes the body of the answer, behind its header and in the right encoding.
    func answer(_ body: (inout WireWriter) -> Void) {
        precondition(!isAnswered, "an exchange is answered once")
        isAnswered = true
        session?.answer(self, body: body)
    }

    /// Ends a request without an answer (acks=0).
    func answerNothing() {
        precondition(!isAnswered, "an exchange is answered once")
        isAnswered = true
        session?.withdraw(self)
    }

    func holdAnswer(_ answer: [UInt8]) {
        waiting = answer
    }

    /// Notes that the client is gone. A handler may not know that yet, so it may still call `answer`,
    /// which does nothing.
    func abandon() {
        session = nil
        guard !isAnswered, let onAbandon else { return }
        self.onAbandon = nil
        onAbandon()
    }

    /// Closes the connection, so that the client of a failed request does not believe that it succeeded.
    func disconnect() {
        session?.close()
    }
}
