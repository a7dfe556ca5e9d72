import Catalog
import CatalogRecords
import Foundation
import Identifiers
import InstallationRecords
import JSON
import ProcessTesting
import RecordFormat
import Testing

@testable import Gateway

/// The record reference `deploy/book/records.md`: its examples are accepted, and it lists all fields of the
/// code.
struct RecordsPageTests {
    private let page: String
    private let examples: [String]

    init() throws {
        page = try Repository.text(of: "deploy/book/records.md")
        examples = page.components(separatedBy: "```json\n").dropFirst().map {
            $0.components(separatedBy: "\n```")[0]
        }
    }

    private var reports: [String] { examples.filter { $0.contains(#""kind""#) } }

    /// Returns the names of a document's members.
    private func names(in text: String) throws -> [String] {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require(object).keys.sorted()
    }

    /// Returns the field names of the table under a heading.
    private func fields(under heading: String) throws -> Set<String> {
        let section = try #require(page.components(separatedBy: "\n## " + heading).dropFirst().first)
        let table = section.components(separatedBy: "\n## ")[0].split(separator: "\n").filter {
            $0.hasPrefix("| `") || $0.hasPrefix("| … `")
        }
        return Set(
            table.flatMap { row in
                row.split(separator: "|")[0].matches(of: /`([A-Za-z]+)`/).map { String($0.output.1) }
            })
    }

    @Test func `every example of a report is accepted`() async throws {
        let bench = try await GatewayBench.onTestCluster()
        try await bench.startAndWait()
        for example in reports {
            let needsBackendKey = !example.contains("installationId")
            let answer = try await bench.post(example, key: needsBackendKey ? "shop/send" : "shop/report")
            #expect(answer.status == 202, "\(answer.body) to \(example)")
            if needsBackendKey { #expect(try await bench.post(example).status == 422, "a phone's key") }
        }
        #expect(try await bench.reports(atLeast: reports.count).count == reports.count)
        await bench.stop()
    }

    @Test func `every kind of report that clients may send has an example`() throws {
        for kind in Report.Kind.allCases where kind.isAllowedFromClients {
            #expect(reports.contains { $0.contains(#""kind": "\#(kind.rawValue)""#) }, "\(kind)")
            #expect(page.contains("**`\(kind.rawValue)`**"), "\(kind)")
        }
    }

    @Test func `the table and the examples have exactly the fields of a report`() throws {
        let shown = try Set(reports.flatMap(names))
        #expect(shown == (try fields(under: "Fields")))
        // The gateway reports a known field with the wrong type as wrong, and an unknown field as unknown.
        for field in shown {
            let body = heartbeat(#","\#(field)":[[]]"#, installation: "i")
            #expect(!verdicts(body).contains("0 \(field) unknown_field"), "\(field)")
        }
        let senders = ["tokenHash", "entry", "reason", "invalidatedAt", "dispatchedAt"]
        for field in RecordFieldNames.all where !senders.contains(field) {
            #expect(shown.contains(field), "\(field) is written but not documented")
        }
    }

    @Test func `the example of an app is accepted from a file`() throws {
        let example = try #require(examples.first { $0.contains("bundleId") })
        let app = try AppDocument.parse(Array(example.utf8), id: "shop")
        #expect(app.activityTypes.map(\.name) == ["MatchAttributes"])
        #expect(app.activityTypes[0].contentStateSchema != nil && app.environments.count == 2)
        let shown = try Set(names(in: example))
        let type = try #require(example.components(separatedBy: "[\n").last)
        let documentedFields = try fields(under: "An app")
        #expect(shown.subtracting(documentedFields).isEmpty)
        for field in documentedFields.subtracting(shown) where field != "id" && field != "attributesSchema" {
            #expect(type.contains("\"\(field)\""), "\(field)")
        }
    }

    @Test func `the page has the limits of the code`() {
        for limit in [
            "\(NameRules.bytesMax) bytes", "at most \(2 * PushToken.bytesMax)",
            "| \(Report.runningActivitiesMax) |",
            "| \(Report.tagsMax) |",
            "\(Report.attributesBytesMax >> 10) KiB, \(Report.attributesDepthMax) levels",
            "| \(ActivityType.countPerAppMax) |", "| \(ActivityType.requiredAttributesMax) |",
            "| \(App.bundleIDBytesMax) letters", "| \(AppIDRules.bytesMax) letters",
            "up to \(GatewayLimits.reportsPerBodyMax / 1000),000, \(GatewayLimits.reportsBodyBytesMax >> 20) MiB",
        ] { #expect(page.contains(limit), "\(limit)") }
    }
}

/// The field names of a report that has every field.
private enum RecordFieldNames {
    static var all: [String] {
        var report = Report(app: "a", environment: .production, installation: "i", kind: .deadToken)
        (report.user, report.attributesType, report.activity, report.group) = ("u", "t", "x", "g")
        (report.token, report.state, report.channel, report.runningActivities) = ("00", .active, "c", ["x"])
        (report.os, report.appBuild, report.locale, report.timeZone) = ("18", "1", "de", "UTC")
        (report.frequentPushesEnabled, report.activitiesEnabled, report.tags) = (true, true, ["t"])
        report.attributes = try? RawJSON(checking: Array("{}".utf8), with: JSONReader())
        (report.eventTime, report.id, report.scheduleID, report.scheduleName) = (1, "r", "s", "n")
        report.sendID = "t"
        report.refusal = .init(
            tokenHash: "00", entry: "profile", reason: "r", invalidatedAt: 1, dispatchedAt: 1)
        let object = try? JSONSerialization.jsonObject(with: Data(report.encoded())) as? [String: Any]
        return object.map { Array($0.keys) } ?? []
    }
}
