/// The steps after which a kill test can end the process.
package enum WebhooksStep: Int, Sendable, CaseIterable {
    case batchRead = 1
    case callStarted
    case eventDelivered
    case callFailed
    case cursorsCommitted
    case partitionsLocated
    case partitionsReleased
}
