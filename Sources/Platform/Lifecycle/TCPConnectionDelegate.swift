/// The owner of a `TCPConnection`. All calls come on the connection's loop and never inside a call of the
/// owner. The connection retains its delegate until `closed`, which always comes exactly once.
package protocol TCPConnectionDelegate: AnyObject {
    /// Called when a connection of `TCPConnection.connect` is established. Not called for accepted
    /// connections.
    func didConnect()
    /// Called with bytes from the peer, which are valid for this call.
    func didReceive(_ bytes: UnsafeRawBufferPointer)
    /// Called when `send` can be used again after it returned false.
    func didBecomeWritable()
    /// Called when the peer has sent its last byte, if `TCPOptions.keepsOpenAfterInputEnds` is set.
    func inputDidEnd()
    func didClose(reason: TCPCloseReason)
}

extension TCPConnectionDelegate {
    package func didConnect() {}
    package func inputDidEnd() {}
}
