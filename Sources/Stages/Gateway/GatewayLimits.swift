/// The gateway's limits. Each comment says what happens beyond the limit.
///
/// The static properties are constants. The others belong to one gateway, and most of them are settings
/// (`GatewaySettings`).
package struct GatewayLimits: Sendable {
    // MARK: Bodies and headers

    /// Levels of arrays and objects in a body. Beyond it the answer is 400.
    package static let depthMax = 32
    /// Reports in one body. Beyond it the answer is 422, and no report is stored.
    package static let reportsPerBodyMax = 1000
    /// Bytes of a body of reports. Beyond it the answer is 413.
    package static let reportsBodyBytesMax = 1 << 20
    /// Field names in a body, over all its reports. Beyond it the answer is 400.
    package static let reportsFieldsMax = 64 * reportsPerBodyMax
    /// Problems that the answer lists for one report. Further ones are omitted.
    package static let problemsPerReportMax = 8
    /// Bytes of a body with a send, 2.5 MiB: ten thousand names of 200 bytes and the content. Beyond it the answer
    /// is 413.
    package static let sendBytesMax = 5 << 19
    /// Field names in a body with a send. Beyond it the answer is 400.
    package static let sendFieldsMax = 4096
    /// Sends in one batch. Beyond it the answer is 422, and nothing is stored.
    package static let sendsPerBatchMax = 500
    /// Field names in a body with a batch, over all its sends. Beyond it the answer is 400.
    package static let batchFieldsMax = 128 * sendsPerBatchMax
    /// Bytes of a body that changes the catalog. Beyond it the answer is 413.
    package static let catalogBytesMax = 64 * 1024
    /// Characters of an idempotency key. Beyond it the answer is 422.
    package static let idempotencyKeyCharactersMax = 128

    // MARK: Calls that wait for a search or for another stage

    /// Waiting searches for sends by id (`SendLookup`). Each reads a topic. Beyond it the answer is 503.
    package static let lookupsWaitingMax = 100
    /// The same for one key. Queries and cancellations count separately. Beyond it the answer is 503.
    package static let lookupsPerCallerWaitingMax = 20
    /// The threads of the searches for sends.
    package static let lookupThreads = 3
    /// Time for one search for a send. Then the answer is 503, or it has the records that were read until then.
    package static let lookupMilliseconds = 3000
    /// Time for a call that searches, with its wait for earlier searches. Then the answer is 503, and no search begins
    /// for the call.
    package static let lookupCallMilliseconds = 10_000
    /// Waiting calls about dead letters. Each call reads their topic. Beyond it the answer is 503.
    package static let deadLetterCallsWaitingMax = 20
    /// The same for one app. Beyond it the answer is 503.
    package static let deadLetterCallsPerAppWaitingMax = 10
    /// The threads of the calls about dead letters.
    package static let deadLetterThreads = 2
    /// The longest body of a call that redrives or discards dead letters. Beyond it the answer is 413.
    static let deadLetterBodyBytesMax = 64 * 1024
    /// Time for the scheduler to reply to a stored command. Then the answer says that the command is under way.
    package static let schedulerReplyMilliseconds = 2000
    /// Time for the planner to reply to a stored send with an idempotency key or with `ifVersion`. Then the answer is 202
    /// without the verdict.
    package static let plannerReplyMilliseconds = 500
    /// Waiting queries to the insight stage. Beyond it the answer is 503.
    package static let queriesWaitingMax = 400
    /// Waiting queries of one key to the insight stage. Beyond it the answer is 429.
    package static let queriesPerKeyWaitingMax = 20
    /// `Retry-After` of an answer of the insight stage with 429 or 503, in seconds.
    package static let queryRetrySeconds = 2
    /// Time for one insight process to answer. Then the gateway asks another one.
    package static let queryAttemptMilliseconds = 5000
    /// Insight processes that the gateway asks one after the other.
    package static let queryAttemptsMax = 3
    /// Time for all attempts of a query together. Then the answer is 503.
    package static let queryMilliseconds = 10_000

    /// Bodies of reports whose taps wait for the insight stage to name their sends. Beyond it the taps are stored
    /// without a send.
    package static let bodiesWithTapsWaitingMax = 100
    /// Taps of one body for which the gateway asks. The other taps are stored without a send.
    package static let tapsAskedPerBodyMax = 10
    /// Time for the answers about the taps of one body. Then the taps are stored with the sends that are known.
    package static let tapMilliseconds = 1000

    // MARK: Rates of keys, addresses and installations

    /// The rates of one key in a second at this process, and in one burst after a pause: requests, bytes of their
    /// bodies, reports. Beyond a rate the answer is 429, and nothing of the body is stored.
    package var requestsPerKeyAndSecondMax = 10_000
    package var bytesPerKeyAndSecondMax = 128 << 20
    package var reportsPerKeyAndSecondMax = 200_000
    /// The same rates of one address, with a key that phones have.
    package var requestsPerPeerAndSecondMax = 2000
    package var bytesPerPeerAndSecondMax = 8 << 20
    package var reportsPerPeerAndSecondMax = 10_000
    /// New installations of one address in an hour, and in one burst, with a key that phones have
    /// (`InstallationQuota`). Beyond it the reports of further new installations are refused, and the answer is 429
    /// if no report of the body is stored.
    package var newInstallationsPerPeerAndHourMax = 20_000
    /// Reports about one installation in a minute, with a key that phones have. Beyond it the reports are
    /// refused, and the answer is 429 if no report of the body is stored.
    package var reportsPerInstallationAndMinuteMax = 300
    /// Keys, addresses and installations that are counted at the same time. Beyond it the gateway forgets the
    /// oldest, and these may send more. Each rate has two tables with 24 bytes for an entry. The limits are just below
    /// the sizes at which a dictionary doubles its memory.
    package static let keysCountedMax = 90_000
    package static let peersCountedMax = 90_000
    package static let installationsCountedMax = 390_000
    /// Time after which a request beyond a rate is refused, with a key that phones have.
    package static let rateRefusalMilliseconds = 1000
    /// Refusals that are delayed at the same time. Beyond it a refusal is sent at once and closes its connection.
    package static let delayedRefusalsMax = 1000

    // MARK: Requests that wait for Kafka

    /// Time without any response from Kafka. Beyond it requests are refused at once.
    package static let kafkaSilenceMillisecondsMax = 15_000
    /// Requests that wait for Kafka. Beyond it the answer is 503 at once.
    package var requestsWaitingMax = 20_000
    /// Bytes of the bodies of those requests. Beyond it the answer is 503 at once.
    package var bytesWaitingMax = 64 << 20
    /// Time for Kafka to acknowledge a record. Then the answer is 503.
    package var acknowledgeMilliseconds = 10_000
    /// Time that a record waits for others to share a batch to Kafka.
    package var lingerMilliseconds = 2

    package init() {}
}
