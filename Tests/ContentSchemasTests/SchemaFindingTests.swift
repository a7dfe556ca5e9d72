import ContentSchemas
import JSON
import RecordTesting
import Testing

/// 2025-11-20.
private let now: Int64 = 1_763_600_000

/// Returns the failures and warnings about a value for a property `x` of this type. Both are JSON.
private func findingTexts(_ value: String, for type: String) -> [String] {
    let findings = schema("{\"x\":\(type)}").findings(in: raw("{\"x\":\(value)}"), now: now)
    return (findings.failures + findings.warnings).map(\.description)
}

@Test func `a finding names the path, the error and the remedy`() {
    #expect(
        findingTexts("\"1\"", for: "\"int\"") == [
            "x is a string, and Int does not decode from it; send a number without quotes"
        ])
    #expect(
        findingTexts("1.5", for: "\"int\"") == ["x has a fraction, and Int takes none; send a whole number"])
    #expect(findingTexts("300", for: "\"uint8\"") == ["x must be from 0 to 255 for UInt8"])
    #expect(
        findingTexts("null", for: "\"string\"") == [
            "x is null, and String is not optional; send a string in quotes"
        ])
    #expect(
        findingTexts("\"third\"", for: #"{"$enum":["first","second"]}"#) == [
            "x is not a case of the enumeration; send one of first, second"
        ])
    #expect(
        findingTexts("\"arrived\"", for: #"{"$cases":{"eta":{"minutes":"int"},"arrived":{}}}"#) == [
            #"x is a string, and an enumeration whose cases carry values does not decode from it; send {"case": {its values}} with one of eta, arrived for case, {} for no values"#
        ])
    #expect(
        findingTexts("[2,1]", for: #"{"$range":"int"}"#) == [
            "x has its lower bound above the upper one; exchange them"
        ])
    #expect(
        findingTexts("[1,2]", for: "\"data\"") == [
            "x is an array, and Data does not decode from it; send its bytes in base64, not as an array"
        ])
}

@Test func `all findings are reported at once, each with its path`() {
    let schema = schema(
        #"{"home":"int","teams":[{"name":"string","shirt":"url?"}],"odds":{"$dictionary":"double"},"at":"date.reference2001"}"#
    )
    let findings = schema.findings(
        in: raw(
            #"{"home":"1","teams":[{"name":"A"},{"shirt":7},{"Name":"C"}],"odds":{"a b":true},"at":"2025-11-20T00:00:00Z"}"#
        ), now: now)
    #expect(
        findings.failures.map(\.path) == [
            "home", "teams[1].name", "teams[1].shirt", "teams[2].name", #"odds["a b"]"#, "at",
        ])
    #expect(
        findings.failures[3].message
            == "is missing; there is Name, but names must match exactly: send it")
    #expect(!findings.decodes)
}

@Test func `dates that decode to another century are doubtful, and the right number is named`() {
    #expect(
        findingTexts("1763600000", for: "\"date.reference2001\"") == [
            "x looks like seconds since 1970, and the phone will read it as 2056-11-20; send 785292800"
        ])
    #expect(
        findingTexts("1763600000000", for: "\"date.reference2001\"") == [
            "x looks like milliseconds since 1970, and the phone will read it as the year 57887; send 785292800"
        ])
    #expect(
        findingTexts("1763600000500", for: "\"date.unixSeconds\"") == [
            "x looks like milliseconds since 1970, and the phone will read it as the year 57856; send 1763600000.5"
        ])
    #expect(
        findingTexts("785292800", for: "\"date.unixSeconds\"") == [
            "x looks like seconds since 2001, and the phone will read it as 1994-11-20; send 1763600000"
        ])
    #expect(
        findingTexts("1763600000", for: "\"date.unixMilliseconds\"") == [
            "x looks like seconds since 1970, and the phone will read it as 1970-01-21; send 1763600000000"
        ])
    for (value, type) in [
        ("785292800", "reference2001"), ("1763600000", "unixSeconds"), ("1763600000000", "unixMilliseconds"),
        ("0", "reference2001"), ("-1e9", "reference2001"), ("0", "unixSeconds"),
    ] {
        #expect(findingTexts(value, for: "\"date.\(type)\"").isEmpty, "\(value) \(type)")
    }
    #expect(findingTexts("1763600000", for: "\"date.reference2001?\"").count == 1)
    #expect(findingTexts("[785292800, 1763600000]", for: #"{"$range":"date.reference2001"}"#).count == 1)
}

@Test func `a name that is nearly right is reported, even for an optional property`() {
    let schema = schema(#"{"homeTeam":"string?","score":"int?"}"#)
    let findings = schema.findings(in: raw(#"{"home_team":"A","scores":1}"#), now: now)
    #expect(findings.decodes)
    #expect(
        findings.warnings.map(\.description) == [
            "homeTeam stays nil; there is home_team, but names must match exactly: rename it"
        ])
}

@Test func `an ISO date with a fraction of a second is doubtful, because only new systems decode it`() {
    for text in ["2026-11-20T20:00:00.5Z", "2026-11-20T20:00:00.123456+01:00"] {
        let findings = schema(#"{"x":"date.iso8601"}"#).findings(in: raw("{\"x\":\"\(text)\"}"), now: now)
        #expect(findings.decodes && findings.warnings.map(\.code) == [.notPortable], "\(text)")
    }
    for text in ["2026-11-20T20:00:00.Z", "2026-13-20T20:00:00.5Z", "2026-11-20T20:00:00.5"] {
        let findings = schema(#"{"x":"date.iso8601"}"#).findings(in: raw("{\"x\":\"\(text)\"}"), now: now)
        #expect(!findings.decodes, "\(text)")
    }
}

@Test func `a URL that only new systems accept is doubtful`() {
    #expect(findingTexts("\"https://example.com/a b\"", for: "\"url\"").count == 1)
    #expect(findingTexts("\"https://example.com/a%20b?q=1#f\"", for: "\"url\"").isEmpty)
}

@Test func `the list of findings is bounded, and doubts do not hide a failure`() {
    let names = (0..<100).map { "\"d\($0)\":1763600000" } + ["\"last\":\"x\""]
    let types = (0..<100).map { "\"d\($0)\":\"date.reference2001\"" } + ["\"last\":\"int\""]
    let findings = schema("{\(types.joined(separator: ","))}").findings(
        in: raw("{\(names.joined(separator: ","))}"), now: now)
    #expect(findings.warnings.count == SchemaFindings.findingsMax)
    #expect(findings.failures.map(\.path) == ["last"])
    #expect(findings.omittedCount == 100 - SchemaFindings.findingsMax)
}
