/// Owner of a `TCPConnection`. All calls come on the connection's loop and never from within a call
/// that the owner makes. The connection holds its delegate until `closed`, which always comes, once.
package protocol TCPConnectionDelegate: AnyObject {
    /// A connection asked for with `TCPConnection.connect` is there. Not called for accepted ones.
    func connected()
    /// Bytes from the peer, lent for this call.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// There is room again after a `send` returned false.
    func writable()
    /// The peer has sent its last byte; asked for with `TCPOptions.keepsOpenAfterInputEnds`.
    func inputEnded()
    func closed(_ reason: TCPCloseReason)
}

extension TCPConnectionDelegate {
    package func connected() {}
    package func inputEnded() {}
}
