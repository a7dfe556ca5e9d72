/// What the gateway grants. Each limit says what happens beyond it.
package struct GatewayLimits: Sendable {
    /// Reports in one body; beyond it 422, and none is taken.
    package static let reportsPerBodyMax = 1000
    /// Bytes of a body of reports; beyond it 413.
    package static let bodyBytesMax = 1 << 20
    /// Levels of arrays and objects in a body; beyond it 400.
    package static let depthMax = 32
    /// Names of fields in a body, over all its reports; beyond it 400.
    package static let fieldsMax = 64 * reportsPerBodyMax
    /// Bytes of a body with a send: ten thousand names of 200 bytes and the content; beyond it 413.
    package static let sendBytesMax = 5 << 19
    /// Names of fields in such a body; beyond it 400.
    package static let sendFieldsMax = 4096
    /// Bytes of a body that changes the catalogue; beyond it 413.
    package static let catalogBytesMax = 64 * 1024
    /// Characters of an idempotency key; beyond it 422.
    package static let idempotencyKeyCharactersMax = 128
    /// Questions about sends that wait, as each reads a topic; beyond it 503.
    package static let lookupsWaitingMax = 100
    /// For one such question; then 503, or what was found until then.
    package static let lookupMilliseconds = 3000
    /// Calls about dead letters that wait, as each reads their topic; beyond it 503.
    package static let letterCallsWaitingMax = 10
    /// For the scheduler to answer an order that is stored; then the answer says that it is under way.
    package static let replyMilliseconds = 2000
    /// Questions to the insight stage that wait; beyond it 503.
    package static let questionsWaitingMax = 200
    /// For one of its processes to answer; then another is asked.
    package static let questionTryMilliseconds = 5000
    /// Processes that are asked one after the other.
    package static let questionTriesMax = 3
    /// For all of them; then 503.
    package static let questionMilliseconds = 10_000
    /// Problems told of one report; later ones are left out.
    package static let problemsPerReportMax = 8

    /// Refusals of unknown keys that are held back at a time; beyond it the connection is closed instead.
    package static let heldBackMax = 1000
    /// Without a sign of life from Kafka for so long, requests are refused at once.
    package static let silenceMillisecondsMax = 15_000

    /// Requests of one key that this process takes in a second, and at once after a pause; beyond it 429.
    package var requestsPerKeyAndSecondMax = 10_000
    /// Requests of one address, with a key that phones have; beyond it 429.
    package var requestsPerPeerAndSecondMax = 2000
    /// Reports about one installation in a minute, with such a key; beyond it 429, or the report is
    /// refused in a body whose others are taken.
    package var reportsPerInstallationAndMinuteMax = 300
    /// Keys, addresses and installations that are counted at a time, each; beyond it the oldest are
    /// forgotten and may come more often. 24 bytes each, twice.
    package static let keysCountedMax = 100_000
    package static let peersCountedMax = 100_000
    package static let installationsCountedMax = 500_000
    /// Requests that wait for Kafka; beyond it 503 at once.
    package var requestsWaitingMax = 20_000
    /// Bytes of the bodies of those requests; beyond it 503 at once.
    package var bytesWaitingMax = 64 << 20
    /// For Kafka to acknowledge a report; then 503.
    package var acknowledgeMilliseconds = 10_000
    /// How long a report waits for others to share a batch to Kafka.
    package var lingerMilliseconds = 2

    package init() {}
}
