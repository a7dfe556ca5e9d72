import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing

@testable import Ingest

/// Tests of the limit of the depth of a profile's attributes.
@Suite struct AttributesDepthTests {
    /// Objects and arrays inside each other, and in the innermost a string with closing brackets, which do not count.
    private let deepestText =
        String(repeating: #"{"a":["#, count: Report.attributesDepthMax / 2) + #""]}\"""#
        + String(repeating: "]}", count: Report.attributesDepthMax / 2)

    @Test func `attributes of the maximum depth fit into every record that holds them`() throws {
        let phone = Phone()
        let attributes = try RawJSON(checking: Array(deepestText.utf8), with: JSONReader())
        #expect(attributes.depth == Report.attributesDepthMax)
        phone.send(.profile, at: 0) { $0.attributes = attributes }
        #expect(phone.run.installation?.attributes?.value == attributes)
    }

    @Test func `a report with deeper attributes is refused`() throws {
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .profile)
        report.attributes = try RawJSON(
            checking: Array(#"{"a":\#(deepestText)}"#.utf8), with: JSONReader())
        #expect(throws: RecordDecodingError.self) {
            try Report.decode(report.encoded(), with: JSONReader())
        }
    }
}
