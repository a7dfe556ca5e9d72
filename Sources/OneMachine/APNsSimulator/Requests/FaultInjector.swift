/// The source of the simulated APNs' faults, for example a fault script (`ScriptedFaultInjector`). Confined to the
/// simulator's event loop.
package protocol FaultInjector: AnyObject {
    /// Returns the faults for a request. Called once for each request, after it was validated and before it
    /// is answered.
    func fault(for request: RequestFacts) -> InjectedFault

    /// Returns the faults for a new TCP connection. Called when the connection is accepted, before TLS
    /// begins. `close` and `stall` act before the handshake, and the others with the first bytes of HTTP/2.
    /// Connections are numbered from 1.
    func faults(forOpenedConnection number: Int) -> [InjectedFault.ConnectionFault]
}
