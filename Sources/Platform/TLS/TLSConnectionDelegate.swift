/// The owner of a `TLSConnection`. All calls come on the connection's loop and never from inside a call that
/// the owner makes. The connection retains its delegate until `closed`, which is called exactly once.
package protocol TLSConnectionDelegate: AnyObject {
    /// The peer is verified and `applicationProtocol` is negotiated. Before this call, nothing is received
    /// and `fill` is not called.
    func didEstablish(applicationProtocol: String)
    /// Receives plaintext, which is valid during this call.
    func didReceive(_ plaintext: UnsafeRawBufferPointer)
    /// Writes the data to send into the buffer and returns its length, or 0 without data. It is called at the
    /// end of each turn in which data was received or `wantsToSend` was called. The call repeats until it
    /// returns 0 or the limit of the turn is reached.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    func didClose(reason: TLSCloseReason)
}
