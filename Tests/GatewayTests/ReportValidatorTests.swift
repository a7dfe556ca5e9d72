import CatalogRecords
import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing
import TokenSealing

@testable import Gateway

/// The app of most requests in these tests.
let shop = App(
    id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
    keyID: "KEY1234567")

/// Returns a heartbeat of an installation with further fields, each after a comma.
func heartbeat(_ moreFields: String = "", installation: String = "i1") -> String {
    #"{"environment":"production","installationId":"\#(installation)","kind":"heartbeat"\#(moreFields)}"#
}

/// Returns the body's problem as "path code", or the verdicts: "accepted" and "index path code".
func verdicts(_ body: [UInt8]) -> [String] {
    do {
        let result = try ReportValidator(sealingKeys: nil).validate(body, for: shop, role: .report)
        let refused = result.refused.flatMap { refused in
            refused.problems.map { "\(refused.index) \($0.path) \($0.code.rawValue)" }
        }
        return Array(repeating: "accepted", count: result.acceptedCount) + refused
    } catch {
        return error.problems.map { "\($0.path) \($0.code.rawValue)" }
    }
}

func verdicts(_ body: String) -> [String] { verdicts(Array(body.utf8)) }

@Test func `a valid report becomes the record of the topic, with the app of the key`() throws {
    let body = #"{"kind":"startToken","token":"C0FFEE","installationId":"i/1","environment":"production"}"#
    let result = try ReportValidator(sealingKeys: nil).validate(Array(body.utf8), for: shop, role: .report)
    let (key, value) = result.copyRecord(at: 0)
    #expect(String(decoding: key, as: UTF8.self) == "shop/i:i%2f1")
    #expect(
        String(decoding: value, as: UTF8.self)
            == #"{"v":1,"app":"shop","environment":"production","installationId":"i/1","kind":"startToken","token":"C0FFEE","sequence":0}"#
    )
}

@Test(arguments: [
    // Bodies that are not JSON or exceed a limit are refused whole.
    ("", [" empty"]), ("{", [" malformed"]), ("nonsense", [" malformed"]),
    ("[\(heartbeat()),]", ["[1] malformed"]),
    (heartbeat(#","app":NaN"#), ["app malformed"]),
    (heartbeat(#","eventTime":1e400"#), ["eventTime number_out_of_range"]),
    ("[\(heartbeat()),\(heartbeat(#","os":"1","os":"2""#))]", ["[1].os duplicate_key"]),
    // Bodies that are JSON but not reports.
    ("7", ["0  wrong_type"]), ("null", ["0  wrong_type"]), ("[]", [" invalid"]), ("[[]]", ["0  wrong_type"]),
    ("{}", ["0 kind missing", "0 environment missing", "0 installationId missing"]),
    (heartbeat(#","colour":"red""#), ["0 colour unknown_field"]),
    (heartbeat(#","installationID":"x""#), ["0 installationID unknown_field"]),
    (heartbeat(#","token":"xyz""#), ["0 token invalid"]),
    // Only Flotilla's own writers may use the sealed form.
    (heartbeat(#","token":"s1.AAAA""#), ["0 token invalid"]),
    (heartbeat(#","tags":["a",7]"#), ["0 tags[1] wrong_type"]),
    (heartbeat(#","eventTime":"now""#), ["0 eventTime wrong_type"]),
    (heartbeat(#","v":0"#), ["0 v out_of_range"]), (heartbeat(#","v":2"#), ["accepted"]),
    (heartbeat(#","sequence":1"#), ["0 sequence invalid"]),
    (heartbeat(#","os":"iOS 18""#), ["0 os invalid"]), (heartbeat(#","os":"18.0 (22A)""#), ["accepted"]),
    (heartbeat(#","userId":"a\u0000b""#), ["0 userId invalid"]),
    (heartbeat(#","app":"shop""#), ["accepted"]), (heartbeat(#","app":"bank""#), ["0 app invalid"]),
    (#"{"environment":"sandbox","installationId":"i","kind":"heartbeat"}"#, ["0 environment invalid"]),
    (#"{"environment":"staging","installationId":"i","kind":"heartbeat"}"#, ["0 environment invalid"]),
])
func `every problem of a body is reported with its path`(_ body: String, _ expected: [String]) {
    #expect(verdicts(body) == expected)
}

@Test(arguments: [false, true])
func `each report of a body gets its index, also when one between them is refused`(
    _ hasInvalidReport: Bool
) throws {
    let middle = hasInvalidReport ? heartbeat(#","colour":"red""#) : heartbeat()
    let result = try ReportValidator(sealingKeys: nil).validate(
        Array("[\(heartbeat()),\(middle),\(heartbeat())]".utf8), for: shop, role: .report)
    let positions = try (0..<result.acceptedCount).map {
        try Report.decode(result.copyRecord(at: $0).value, with: JSONReader()).bodyPosition
    }
    #expect(positions == (hasInvalidReport ? [0, 2] : [0, 1, 2]))
}

@Test(arguments: [40, 100_000])
func `a body that is nested too deep is refused with its place`(_ depth: Int) {
    let nest = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let verdicts = verdicts(heartbeat(#","attributes":"# + nest))
    #expect(verdicts.count == 1)
    #expect(verdicts[0].hasPrefix("attributes[0][0]") && verdicts[0].hasSuffix(" too_deep"))
}

@Test func `encodings other than UTF-8 are refused`() {
    let text = heartbeat()
    #expect(
        verdicts([0xFF, 0xFE] + text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }) == [" not_utf8"])
    #expect(verdicts([0xEF, 0xBB, 0xBF] + Array(text.utf8)) == [" not_utf8"])
    // An overlong form of the slash takes the place of the two question marks.
    let overlongSlash: [UInt8] = [0xC0, 0xAF]
    let parts = Array(heartbeat(#","userId":"??""#).utf8).split(
        separator: UInt8(ascii: "?"), omittingEmptySubsequences: false)
    #expect(verdicts(Array(parts[0]) + overlongSlash + Array(parts[2])) == ["userId not_utf8"])
}

@Test func `the valid reports of a body are accepted, and the others are listed by their index`() throws {
    let body = "[\(heartbeat(installation: "a")),{},\(heartbeat(installation: "b")),7]"
    let result = try ReportValidator(sealingKeys: nil).validate(Array(body.utf8), for: shop, role: .report)
    #expect(result.acceptedCount == 2)
    #expect(result.refused.map(\.index) == [1, 3])
    #expect(
        (0..<2).map { String(decoding: result.copyRecord(at: $0).key, as: UTF8.self) } == [
            "shop/i:a", "shop/i:b",
        ])
}

@Test func `a body may have a thousand reports, and not one more`() throws {
    func body(reportCount: Int) -> String {
        "[" + (0..<reportCount).map { heartbeat(installation: "i\($0)") }.joined(separator: ",") + "]"
    }
    let result = try ReportValidator(sealingKeys: nil).validate(
        Array(body(reportCount: 1000).utf8), for: shop, role: .report)
    #expect(result.acceptedCount == 1000)
    #expect(String(decoding: result.copyRecord(at: 999).key, as: UTF8.self) == "shop/i:i999")
    #expect(verdicts(body(reportCount: 1001)) == [" out_of_range"])
}

@Test func `a body beyond its limit in bytes is refused`() {
    #expect(verdicts(String(repeating: " ", count: GatewayLimits.reportsBodyBytesMax + 1)) == [" too_large"])
}

@Test func `refused bodies do not affect the result of the next body`() throws {
    let validator = ReportValidator(sealingKeys: nil)
    _ = try? validator.validate(Array("[{},{".utf8), for: shop, role: .report)
    _ = try? validator.validate(Array("[{},7]".utf8), for: shop, role: .report)
    #expect(try validator.validate(Array(heartbeat().utf8), for: shop, role: .report).acceptedCount == 1)
}

@Test func `only a backend's key may write about a user`() throws {
    let profile = Array(#"{"kind":"profile","userId":"u/1","tags":["vip"]}"#.utf8)
    for role in [APIKey.Role.send, .admin] {
        let result = try ReportValidator(sealingKeys: nil).validate(profile, for: shop, role: role)
        #expect(String(decoding: result.copyRecord(at: 0).key, as: UTF8.self) == "shop/u:u%2f1")
    }
    #expect(verdicts(profile) == ["0 installationId invalid"])
}

@Test(arguments: [
    #"{"kind":"deadToken","environment":"production","installationId":"i","tokenHash":"00","entry":"profile","reason":"Unregistered","dispatchedAt":1}"#,
    #"{"kind":"provenToken","environment":"production","installationId":"i","tokenHash":"00","entry":"profile"}"#,
])
func `only Flotilla itself may report a dead or a proven token`(text: String) throws {
    for role in APIKey.Role.allCases {
        let refused = try ReportValidator(sealingKeys: nil).validate(Array(text.utf8), for: shop, role: role)
            .refused
        #expect(refused.map { $0.problems.map(\.path) } == [["kind"]])
    }
}

@Test func `with keys a report's token leaves the gateway sealed`() throws {
    let keys = try makeKeys()
    let body =
        #"{"environment":"production","installationId":"i1","kind":"startToken","attributesType":"Match","token":"C0FFEE"}"#
    let (_, value) = try ReportValidator(sealingKeys: keys).validate(
        Array(body.utf8), for: shop, role: .report
    ).copyRecord(at: 0)
    #expect(!String(decoding: value, as: UTF8.self).lowercased().contains("c0ffee"))
    let report = try Report.decode(value, with: JSONReader())
    #expect(report.isTokenSealed)
    #expect(try TokenSeal(keys: keys).open(tokenOf: report) == PushToken(hex: "c0ffee"))
}

@Test func `unknown fields of a newer SDK version are dropped, and its report is accepted`() throws {
    #expect(verdicts(heartbeat(#","v":2,"colour":"red""#)) == ["accepted"])
    #expect(verdicts(heartbeat(#","v":1,"colour":"red""#)) == ["0 colour unknown_field"])
    #expect(verdicts(heartbeat(#","colour":"red""#)) == ["0 colour unknown_field"])
    #expect(verdicts(heartbeat(#","v":2,"environment":"x""#)).allSatisfy { $0 != "accepted" })
    let body = Array(heartbeat(#","v":2,"colour":"red""#).utf8)
    let value = try ReportValidator(sealingKeys: nil).validate(body, for: shop, role: .report).copyRecord(
        at: 0
    ).value
    #expect(try Report.decode(value, with: JSONReader()).kind == .heartbeat)
    #expect(!String(decoding: value, as: UTF8.self).contains("colour"))
}
