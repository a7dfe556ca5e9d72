/// The owner of a `TLSConnection`. All calls come on the connection's loop, and never from inside a call that
/// the owner makes to the connection, except `fill` in `fillNow`. The connection retains its delegate until
/// `didClose`, which is called exactly once.
package protocol TLSConnectionDelegate: AnyObject {
    /// Called when the peer is verified and the protocol is negotiated (ALPN, such as `h2`). `didReceive` and
    /// `fill` are not called before.
    func didEstablish(applicationProtocol: String)
    /// Called with plaintext from the peer, which is valid during this call.
    func didReceive(_ plaintext: UnsafeRawBufferPointer)
    /// Writes the data to send into the buffer and returns its length, or 0 without data. Called at the end
    /// of each iteration in which data was received or `requestFill` was called. The call repeats until it
    /// returns 0 or until the limit of the iteration is reached.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int
    /// Called when the connection has ended, also if it was never established.
    func didClose(reason: TLSCloseReason)
}
