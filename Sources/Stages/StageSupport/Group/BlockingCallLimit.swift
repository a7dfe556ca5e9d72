/// The limit of one call in an iteration of a loop that waits for Kafka. It is a tenth of the usual session, so that
/// the loop keeps its membership and its leases.
package enum BlockingCallLimit {
    package static let millisecondsMax = 1000
}
