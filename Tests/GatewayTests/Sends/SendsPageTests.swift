import CatalogRecords
import Foundation
import Payloads
import ProcessTesting
import Sends
import Testing

@testable import Gateway

/// The operator's page about sends, with its examples (`PageExamples`).
struct SendsPageTests {
    private let page: String

    init() throws { page = try Repository.text(of: "deploy/book/sends.md") }

    @Test func `every example of the page is accepted`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        let examples = PageExamples(in: page)
        // The six examples make nine calls. Seven of the calls are sends, and three of these are updates.
        #expect(examples.count == 6)
        #expect(try await examples.run(on: bench).count == 9)
        let events = try await bench.sends(atLeast: 7).map(\.content.event)
        #expect(events.count == 7 && events.count { $0 == .update } == 3)
        await bench.stop()
    }

    @Test func `every refusal code of a send is on the page`() {
        var codes = Set(PayloadViolation.Rule.allCases.map(\.rawValue))
        codes.remove(PayloadViolation.Rule.doubtful.rawValue)
        codes.formUnion([
            "type_unknown", "segment_unknown", "definition_unknown", "not_one_user", "date_passed",
            "not_available", "idempotency_key_invalid", "send_unknown", "too_many", "too_many_definitions",
            "in_the_app", "search_too_long", "idempotency_conflict", "newer_state",
        ])
        for code in codes { #expect(page.contains("`\(code)`"), "\(code)") }
    }

    @Test func `every field of a send is on the page`() throws {
        let document = try #require(
            JSONSerialization.jsonObject(with: Data(OpenAPI.document.utf8)) as? [String: Any])
        let components = try #require(document["components"] as? [String: [String: Any]])
        let send = try #require(components["schemas"]?["send"] as? [String: Any])
        for field in try #require(send["properties"] as? [String: Any]).keys {
            #expect(page.contains("`\(field)`"), "\(field)")
        }
    }

    @Test func `the page has the limits of the code`() {
        for limit in [
            "| 200, 1,000, 5,000 |", "2.5 MiB, 4,096", "| 64 KiB |", "| 100, 3 s each, 20 of one key |",
            "up to 5,000 definitions", "| 500 ms |", "| 500, 64,000 |", "up to 500 sends",
            "to 10,000 users",
        ] { #expect(page.contains(limit), "\(limit)") }
        #expect(ActivityType.countPerAppMax == 200 && CatalogObjectKind.segmentsPerAppMax == 1000)
        #expect(NotificationDefinition.countPerAppMax == 5000 && Audience.namesMax == 10_000)
        #expect(GatewayLimits.sendBytesMax == 5 << 19 && GatewayLimits.catalogBytesMax == 64 << 10)
        #expect(GatewayLimits.plannerReplyMilliseconds == 500)
        #expect(GatewayLimits.sendsPerBatchMax == 500 && GatewayLimits.batchFieldsMax == 64_000)
        #expect(GatewayLimits.lookupsWaitingMax == 100 && GatewayLimits.lookupMilliseconds == 3000)
        #expect(GatewayLimits.lookupsPerCallerWaitingMax == 20)
        #expect(
            SendValidator.deadlineSecondsMax == 20 * 3600 && SendValidator.endDateSecondsMax == 30 * 86_400)
    }
}
