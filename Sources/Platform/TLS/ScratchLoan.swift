/// The loan of one buffer of `TLSScratchBuffers` to one session at a time. A call by another session stops
/// the process.
struct ScratchLoan {
    /// The name of the buffer, for the message.
    private let buffer: StaticString
    private var holder: ObjectIdentifier?

    init(of buffer: StaticString) { self.buffer = buffer }

    /// Lends the buffer to the session, which may have it already.
    mutating func begin(_ session: TLSSession) {
        check(session)
        holder = ObjectIdentifier(session)
    }

    mutating func end(_ session: TLSSession) {
        check(session)
        holder = nil
    }

    /// Checks that no other session has the buffer.
    func check(_ session: TLSSession) {
        precondition(
            holder == nil || holder == ObjectIdentifier(session), "another session uses the \(buffer) buffer")
    }
}
