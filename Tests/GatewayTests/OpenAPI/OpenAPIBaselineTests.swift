import Foundation
import ProcessTesting
import Testing

@testable import Gateway

/// The interface that clients use: a change of the document that would break a client of the baseline is an error. The file
/// `Tests/openapi-baseline.json` is the document of the last release. If a release must break clients, replace the file with
/// the answer of `GET /v1/openapi.json`, and name the change in the release notes.
struct OpenAPIBaselineTests {
    typealias Object = OpenAPIComparison.Object

    private static func object(_ text: String) throws -> Object {
        try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object)
    }

    @Test func `the interface breaks no client of the baseline`() throws {
        let baseline = try Repository.text(of: "Tests/openapi-baseline.json")
        let comparison = OpenAPIComparison(
            from: try Self.object(baseline), to: try Self.object(OpenAPI.document))
        #expect(comparison.breakingChanges == [])
    }

    /// Changes of the document as text, and the sentence about each. An addition has none.
    @Test(arguments: [
        (#""/v1/sends/keys/{key}":"#, #""/v1/sends/key/{key}":"#, "GET /v1/sends/keys/{key} is missing"),
        (
            #""relevanceScore":{"type":"number"}"#, #""relevanceScore":{"type":"string"}"#,
            "relevanceScore in the body of POST /v1/sends was number and is string"
        ),
        (
            #""relevanceScore":"#, #""relevance":"#,
            "relevanceScore in the body of POST /v1/sends is missing"
        ),
        (
            #""required":["event"]"#, #""required":["event","groupId"]"#,
            "groupId in the body of POST /v1/sends is required now"
        ),
        (
            #""event":{"enum":["start","update","end"]}"#, #""event":{"enum":["start","update"]}"#,
            "event in the body of POST /v1/sends does not allow end any more"
        ),
        (
            #""required":["sendId","acceptedAt","bytes","warnings"]"#,
            #""required":["sendId","bytes","warnings"]"#,
            "acceptedAt in the answer 202 of POST /v1/sends may be missing now"
        ),
        (#""202":{"#, #""201":{"#, "the answer 202 of"),
        (
            #""relevanceScore":{"type":"number"}"#,
            #""relevanceScore":{"type":"number"},"newField":{"type":"string"}"#, ""
        ),
    ])
    func `a breaking change is found, and an addition is none`(
        _ old: String, _ new: String, _ sentence: String
    ) throws {
        let changed = OpenAPI.document.replacingOccurrences(of: old, with: new)
        try #require(changed != OpenAPI.document, "\(old)")
        let comparison = OpenAPIComparison(
            from: try Self.object(OpenAPI.document), to: try Self.object(changed))
        if sentence.isEmpty {
            #expect(comparison.breakingChanges == [])
        } else {
            #expect(
                comparison.breakingChanges.contains { $0.hasPrefix(sentence) },
                "\(comparison.breakingChanges)")
        }
    }
}
