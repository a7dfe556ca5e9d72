/// The owner of a `TCPConnection`. All calls come on the connection's loop, and never from inside a call that
/// the owner makes to the connection. The connection retains its delegate until `didClose`, which is called
/// exactly once.
package protocol TCPConnectionDelegate: AnyObject {
    /// Called when a connection of `TCPConnection.connect` is established. Not called for accepted
    /// connections.
    func didConnect()
    /// Called with bytes from the peer, which are valid during this call.
    func didReceive(_ bytes: UnsafeRawBufferPointer)
    /// Called when `send` can be used again after it returned false.
    func didBecomeWritable()
    /// Called when the peer has sent its last byte, if `TCPOptions.keepsOpenAfterInputEnds` is set.
    func inputDidEnd()
    /// Called when the connection has ended, also if it was never established.
    func didClose(reason: TCPCloseReason)
}

extension TCPConnectionDelegate {
    package func didConnect() {}
    package func inputDidEnd() {}
}
