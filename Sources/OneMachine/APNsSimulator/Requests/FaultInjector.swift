/// The source of the simulated APNs' faults. Confined to the simulator's event loop.
protocol FaultInjector: AnyObject {
    /// Returns the ruling for a request. Called once, after it was read and before it is answered.
    func fault(for request: RequestFacts) -> InjectedFault

    /// Returns the faults of a TCP connection that was accepted, before TLS begins. `close` and `stall` act
    /// before the handshake, and the others with the first bytes of HTTP/2. Connections are numbered from 1.
    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault]
}
