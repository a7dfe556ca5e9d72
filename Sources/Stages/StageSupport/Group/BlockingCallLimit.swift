/// The limit of a call that waits for Kafka within an iteration of a loop. It is a small part of the usual session,
/// so that the loop keeps its membership and its leases.
package enum BlockingCallLimit {
    package static let millisecondsMax = 1000
}
