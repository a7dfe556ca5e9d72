import HTTPClient
import Testing

@testable import Gateway

/// The start of the search for a send, by the answer of the insight stage.
struct SendLocationTests {
    private func start(_ body: String, status: Int = 200) -> SearchStart? {
        SendLocation(HTTPClientResponse(status: status, body: Array(body.utf8)))?.searchStart
    }

    @Test func `a send with records is searched at its acceptance`() {
        #expect(start(#"{"acceptedAt":5,"asOf":9}"#) == .accepted(at: 5))
    }

    @Test func `a send without records can only be in what insight has not read`() {
        #expect(start(#"{"asOf":9}"#) == .notBefore(9))
    }

    @Test func `a request that waits for the planner is older than the records of insight`() {
        // A request may wait for an hour, which is 3,600,000 ms.
        #expect(SearchStart.notBefore(4_000_000).ofRequests == .notBefore(400_000))
        #expect(SearchStart.accepted(at: 5).ofRequests == .accepted(at: 5))
        #expect(SearchStart.backwardsFromEnd.ofRequests == .backwardsFromEnd)
    }

    @Test func `without an answer of all lanes the whole topic is searched`() {
        #expect(start(#"{"asOf":9,"partial":{"lanes":[1]}}"#) == .backwardsFromEnd)
        #expect(start(#"{"error":{"code":"too_slow","message":"m"}}"#, status: 503) == nil)
        #expect(start("[") == nil)
    }

    @Test func `only a random id names its acceptance`() {
        #expect(SendID.namesAcceptance("r-1795809600000-7-0123456789abcdef01234567"))
        #expect(!SendID.namesAcceptance("k-7-0123456789abcdef0123456789abcdef"))
    }
}
