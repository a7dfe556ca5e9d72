import Catalog
import CatalogRecords
import HTTPServer
import Lifecycle
import Testing

@testable import Gateway

/// Returns the instant at some milliseconds after the start.
private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

/// The rates of a caller, by request, byte and report. A phone's request counts for its address and for its key, a
/// backend's request only for its key.
struct CallerRatesTests {
    /// Returns a caller at an address (the peer), with the key of a number.
    private func caller(_ role: APIKey.Role, at peer: String, as number: Int = 0) -> RequestCaller {
        var key = APIKeyText.makeKey(app: "shop", role: role, atMilliseconds: 0).record
        key.id = "key\(number)"
        return RequestCaller(key: key, app: shop, address: peer, peer: peer)
    }

    /// Returns rates that allow two requests, 20 bytes and 200 reports a second to an address, and three, 30 and 300 to a
    /// key.
    private func makeRates() -> CallerRates {
        var limits = GatewayLimits()
        (limits.requestsPerPeerAndSecondMax, limits.requestsPerKeyAndSecondMax) = (2, 3)
        (limits.bytesPerPeerAndSecondMax, limits.bytesPerKeyAndSecondMax) = (20, 30)
        (limits.reportsPerPeerAndSecondMax, limits.reportsPerKeyAndSecondMax) = (200, 300)
        return CallerRates(limits: limits, now: at(0))
    }

    @Test func `a phone's requests count for its address and for its key`() {
        let rates = makeRates()
        let (first, second) = (caller(.report, at: "p"), caller(.report, at: "q"))
        func exceededLimit(by caller: RequestCaller) -> RateLimit? {
            rates.chargeRequest(of: caller, bytes: 0, at: at(0)).exceeded?.limit
        }
        #expect([first, first, first].map(exceededLimit) == [nil, nil, .peerRequests])
        // Both phones have the same key.
        #expect([second, second].map(exceededLimit) == [nil, .keyRequests])
        let otherKey = caller(.report, at: "q", as: 1)
        #expect(exceededLimit(by: otherKey) == .peerRequests, "both requests of q counted")
        #expect(exceededLimit(by: caller(.report, at: "r", as: 1)) == nil)
    }

    @Test func `a phone's bytes count for its address and for its key, a backend's only for its key`() {
        let rates = makeRates()
        let (first, second) = (caller(.report, at: "p"), caller(.report, at: "q"))
        func exceededLimit(by caller: RequestCaller, bytes: Int) -> RateLimit? {
            rates.chargeChunks(of: caller, bytes: bytes, at: at(0))?.limit
        }
        #expect(exceededLimit(by: first, bytes: 15) == nil)
        #expect(exceededLimit(by: first, bytes: 6) == .peerBytes)
        #expect(exceededLimit(by: first, bytes: 5) == nil, "refused bytes cost nothing")
        #expect(exceededLimit(by: second, bytes: 11) == .keyBytes, "20 of 30 are used")
        let backend = caller(.send, at: "p", as: 2)
        #expect(rates.chargeRequest(of: backend, bytes: 30, at: at(0)).exceeded == nil)
        #expect(rates.chargeRequest(of: backend, bytes: 1, at: at(0)).exceeded?.limit == .keyBytes)
    }

    @Test func `a phone's reports count for its address and for its key`() {
        let rates = makeRates()
        let (first, second) = (caller(.report, at: "p"), caller(.report, at: "q"))
        func exceededLimit(by caller: RequestCaller, reports: Int, at now: Instant = at(0)) -> RateLimit? {
            rates.chargeReports(of: caller, count: reports, at: now)?.limit
        }
        #expect(exceededLimit(by: first, reports: 200) == nil)
        #expect(exceededLimit(by: first, reports: 1) == .peerReports)
        #expect(exceededLimit(by: second, reports: 101) == .keyReports, "200 of 300 are used")
        #expect(exceededLimit(by: first, reports: 1, at: at(5)) == nil, "200 a second are one in 5 ms")
    }

    @Test func `a charge tells the requests that the key may still make`() {
        var limits = GatewayLimits()
        limits.requestsPerKeyAndSecondMax = 10
        let rates = CallerRates(limits: limits, now: at(0))
        let backend = caller(.send, at: "p")
        #expect(
            rates.chargeRequest(of: backend, bytes: 0, at: at(0)).quota
                == RequestQuota(countMax: 10, remaining: 9))
        let batch = rates.chargeFurtherSends(of: backend, count: 7, at: at(0))
        #expect(batch.exceeded == nil && batch.quota.remaining == 2)
        let refused = rates.chargeFurtherSends(of: backend, count: 3, at: at(0))
        #expect(refused.exceeded?.limit == .keyRequests && refused.quota.remaining == 2)
        #expect(
            rates.chargeRequest(of: backend, bytes: 0, at: at(500)).quota.remaining == 6,
            "half a second adds 5")
        #expect(
            batch.quota.headers.lines.map { "\($0.name): \($0.value)" } == [
                #"RateLimit-Policy: "key-rate";q=10;w=1"#, #"RateLimit: "key-rate";r=2;t=1"#,
            ])
    }
}
