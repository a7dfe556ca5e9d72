/// Owner of a `TLSConnection`. All calls come on the connection's loop and never from within a call
/// that the owner makes. The connection holds its delegate until `closed`, which always comes, once.
package protocol TLSConnectionDelegate: AnyObject {
    /// The peer is who it should be; `applicationProtocol` was agreed on. Before this nothing is
    /// received and nothing is asked for.
    func established(applicationProtocol: String)
    /// Lent for this call.
    func received(_ plaintext: UnsafeRawBufferPointer)
    /// Writes what is to be sent into the buffer and returns how much; 0 when there is nothing. Called
    /// again until it returns 0 or the turn's limit is reached, at the end of each turn in which
    /// something was received or `wantsToSend` was called.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    func closed(_ reason: TLSCloseReason)
}
