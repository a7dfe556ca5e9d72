internal import Glibc

/// Where a test's cluster is: a real one whose address `FLOTILLA_KAFKA` gives, or none. What the mock
/// cannot show (transactions, topic creation, times) runs only with an address.
package enum TestCluster {
    package static var brokers: [String]? {
        guard let text = unsafe getenv("FLOTILLA_KAFKA").map({ unsafe String(cString: $0) }), !text.isEmpty
        else {
            return nil
        }
        return text.split(separator: ",").map(String.init)
    }
}
