internal import Lifecycle

/// One request whose answer is owed. Handlers answer through it at once or later, exactly once and on
/// the broker's loop. When the client is gone first, the answer is owed to nobody and may still come.
final class Exchange {
    let header: RequestHeader
    let arrival: Instant
    /// Weak: a connection may be gone when its answer is ready; then nobody is owed anything.
    private weak var session: Session?
    /// An answer that is ready before those of earlier requests.
    private(set) var waiting: [UInt8]?
    /// What a parked request gives up when its client is gone.
    var onAbandon: (() -> Void)?
    private var isAnswered = false

    init(_ header: RequestHeader, session: Session, arrival: Instant) {
        self.header = header
        self.session = session
        self.arrival = arrival
    }

    var version: Int16 { header.version }
    var clientHost: String { session?.peerHost ?? "" }

    /// Writes the body of the answer, behind a header already there and in the right encoding.
    func answer(_ body: (inout WireWriter) -> Void) {
        precondition(!isAnswered, "an exchange is answered once")
        isAnswered = true
        session?.answer(self, body)
    }

    /// The request wants no answer (acks=0).
    func answerNothing() {
        precondition(!isAnswered, "an exchange is answered once")
        isAnswered = true
        session?.withdraw(self)
    }

    func keep(_ answer: [UInt8]) {
        waiting = answer
    }

    /// The client is gone. Whoever works on the answer finds out only when it is ready, so `answer`
    /// stays allowed and reaches nobody.
    func abandon() {
        session = nil
        guard !isAnswered, let onAbandon else { return }
        self.onAbandon = nil
        onAbandon()
    }

    /// The request cannot be served any more and its client must not think that it was.
    func disconnect() {
        session?.close()
    }
}
