/// Who decides when the simulated APNs misbehaves. Confined to the simulator's event loop.
protocol Mischief: AnyObject {
    /// Asked once for each request, when it has been read and before it is answered.
    func ruling(for request: RequestFacts) -> Ruling

    /// Asked when a TCP connection was accepted, before TLS begins: `close` and `stall` then come
    /// before the handshake, the rest with the first bytes of HTTP/2. Numbers are from 1.
    func connectionOpened(_ number: Int) -> [Ruling.ConnectionFault]
}
