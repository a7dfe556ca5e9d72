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

    @Test func `each unit of an address and of a key has its own rate`() {
        var limits = GatewayLimits()
        (limits.requestsPerPeerAndSecondMax, limits.requestsPerKeyAndSecondMax) = (2, 3)
        (limits.bytesPerPeerAndSecondMax, limits.bytesPerKeyAndSecondMax) = (20, 30)
        (limits.reportsPerPeerAndSecondMax, limits.reportsPerKeyAndSecondMax) = (200, 300)
        let rates = CallerRates(limits: limits, now: at(0))
        let (first, second) = (caller(.report, at: "p"), caller(.report, at: "q"))
        func requests(_ caller: RequestCaller) -> RateLimit? {
            rates.chargeRequest(of: caller, bytes: 0, at: at(0)).exceeded?.limit
        }
        #expect([first, first, first].map(requests) == [nil, nil, .peerRequests])
        #expect([second, second].map(requests) == [nil, .keyRequests])
        #expect(requests(caller(.report, at: "q", as: 1)) == .peerRequests, "both requests of q counted")
        #expect(requests(caller(.report, at: "r", as: 1)) == nil)
        func bytes(_ count: Int, _ caller: RequestCaller) -> RateLimit? {
            rates.chargeChunks(of: caller, bytes: count, at: at(0))?.limit
        }
        #expect(bytes(15, first) == nil && bytes(6, first) == .peerBytes && bytes(5, first) == nil)
        #expect(bytes(11, second) == .keyBytes)
        let backend = caller(.send, at: "p", as: 2)
        #expect(rates.chargeRequest(of: backend, bytes: 30, at: at(0)).exceeded == nil)
        #expect(
            rates.chargeRequest(of: backend, bytes: 1, at: at(0)).exceeded?.limit == .keyBytes,
            "a backend is limited by its key only")
        func reports(_ count: Int, _ caller: RequestCaller) -> RateLimit? {
            rates.chargeReports(of: caller, count: count, at: at(0))?.limit
        }
        #expect(reports(200, first) == nil && reports(1, first) == .peerReports)
        #expect(reports(101, second) == .keyReports)
        #expect(rates.chargeReports(of: first, count: 1, at: at(5)) == nil, "200 a second are one in 5 ms")
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
