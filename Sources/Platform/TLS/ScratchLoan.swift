/// The session that holds one buffer of the scratch memory.
struct ScratchLoan {
    private let buffer: StaticString
    private var holder: ObjectIdentifier?

    init(of buffer: StaticString) { self.buffer = buffer }

    /// Gives the buffer to the session, which may have it already.
    mutating func begin(_ session: TLSSession) {
        check(session)
        holder = ObjectIdentifier(session)
    }

    mutating func end(_ session: TLSSession) {
        check(session)
        holder = nil
    }

    func check(_ session: TLSSession) {
        precondition(
            holder == nil || holder == ObjectIdentifier(session), "another session uses the \(buffer) buffer")
    }
}
