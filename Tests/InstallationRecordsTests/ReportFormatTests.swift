import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import RecordTesting
import Testing

// The JSON form of reports.

private var reader: JSONReader { JSONReader() }

@Test func `a report has this format and reads back`() throws {
    var report = Report(app: "shop", environment: .sandbox, installation: "i1", kind: .updateToken)
    report.user = "u1"
    report.attributesType = "Match"
    report.activity = "a1"
    report.group = "m1"
    report.token = "c0ffee"
    report.os = "18.1"
    report.frequentPushesEnabled = true
    report.tags = ["vip"]
    report.attributes = raw(#"{"n":1}"#)
    report.eventTime = 1_763_600_000_000
    report.id = "r1"
    #expect(
        text(of: report)
            == #"{"v":1,"app":"shop","environment":"sandbox","installationId":"i1","userId":"u1","kind":"updateToken","attributesType":"Match","activityId":"a1","groupId":"m1","token":"c0ffee","os":"18.1","frequentPushesEnabled":true,"tags":["vip"],"attributes":{"n":1},"eventTime":1763600000000,"reportId":"r1"}"#
    )
    #expect(try Report.decode(report.encoded(), with: reader) == report)
    #expect(String(decoding: report.key, as: UTF8.self) == "shop/i:i1")
    var reconcile = Report(app: "shop", environment: .production, installation: "i1", kind: .reconcile)
    reconcile.runningActivities = []
    reconcile.state = .pending
    reconcile.activitiesEnabled = false
    reconcile.locale = "de_DE"
    reconcile.timeZone = "Europe/Berlin"
    reconcile.appBuild = "7"
    reconcile.channel = "c=="
    #expect(try Report.decode(reconcile.encoded(), with: reader) == reconcile)
}

@Test(arguments: [
    ("startToken", ["token missing"]), ("updateToken", ["token missing", "activityId missing"]),
    ("state", ["state missing", "activityId missing"]), ("unregister", ["attributesType missing"]),
    ("reconcile", ["running missing"]), ("tap", ["activityId missing"]), ("heartbeat", []), ("profile", []),
])
func `a report without a field that its kind requires names the field`(kind: String, missing: [String]) {
    let text = #"{"v":1,"app":"a","environment":"production","installationId":"i","kind":"\#(kind)"}"#
    #expect(problems(reading: Report.self, from: text) == missing)
}

@Test func `all problems of a report are reported at once`() {
    let text =
        #"{"v":1,"app":"a/b","environment":"test","installationId":"","kind":"startToken","token":"xyz","tags":[1],"attributes":7}"#
    #expect(
        problems(reading: Report.self, from: text) == [
            "app invalid", "environment invalid", "installationId invalid", "token invalid",
            "tags[0] wrong_type",
            "attributes wrong_type",
        ])
}

@Test func `a report with unknown fields is read, but a later version is refused`() throws {
    let later =
        #"{"v":1,"app":"a","environment":"production","installationId":"i","kind":"heartbeat","new":{"x":[1]}}"#
    #expect(try Report.decode(Array(later.utf8), with: reader).kind == .heartbeat)
    let version = later.replacing("\"v\":1", with: "\"v\":2")
    #expect(throws: RecordDecodingError.unknownVersion(2, known: 1)) {
        try Report.decode(Array(version.utf8), with: reader)
    }
}

@Test func `a damaged report never traps`() {
    let report = Report(app: "a", environment: .production, installation: "i", kind: .tap)
    forEachDamagedCopy(of: [report.encoded()], seed: 4) { _ = try? Report.decode($0, with: reader) }
}
