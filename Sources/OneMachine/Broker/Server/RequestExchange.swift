internal import Lifecycle

/// One request that waits for its answer. A handler answers it at once or later, exactly once and on the
/// broker's loop. If the connection is closed, the answer is dropped.
final class RequestExchange {
    let header: RequestHeader
    let arrival: Instant
    /// Weak, because the connection may be closed when the answer is ready.
    private weak var session: Session?
    /// The answer, if it is ready and must wait for the answers of earlier requests.
    private(set) var heldAnswer: [UInt8]?
    /// Called when the connection is closed before the answer.
    var onAbandon: (() -> Void)?
    private var isAnswered = false

    init(header: RequestHeader, session: Session, arrival: Instant) {
        self.header = header
        self.session = session
        self.arrival = arrival
    }

    var version: Int16 { header.version }
    var clientHost: String { session?.peerHost ?? "" }

    /// Answers the request. `body` writes the answer's body; the header comes from here.
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

    /// Keeps a ready answer until the earlier requests are answered.
    func holdAnswer(_ answer: [UInt8]) {
        heldAnswer = answer
    }

    /// Called when the connection is closed. The handler may not know that yet and still call `answer`,
    /// which then does nothing.
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
