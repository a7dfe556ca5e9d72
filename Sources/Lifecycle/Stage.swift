/// A service that turns records into records, and that may for a while be unable to.
package protocol Stage: Service {
    /// Why work does not flow now, a line each, for `/readyz`; empty when it does. Asked from any thread.
    var obstacles: [String] { get }
}
