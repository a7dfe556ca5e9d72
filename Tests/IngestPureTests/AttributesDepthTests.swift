import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing

@testable import Ingest

/// Tests of the limit of the depth of a profile's attributes.
@Suite struct AttributesDepthTests {
    @Test func `attributes of the maximum depth fit into every record that holds them`() throws {
        let depth = Report.attributesDepthMax
        let text =
            String(repeating: "{\"a\":[", count: depth / 2) + "\"]}\\\""
            + "\"" + String(repeating: "]}", count: depth / 2)
        let phone = Phone()
        let attributes = try RawJSON(checking: Array(text.utf8), with: JSONReader())
        #expect(attributes.depth == depth)
        phone.send(.profile, at: 0) { $0.attributes = attributes }
        #expect(phone.run.installation?.attributes?.value == attributes)
        var report = Report(app: "shop", environment: .production, installation: "i", kind: .profile)
        report.attributes = try RawJSON(
            checking: Array("{\"a\":\(text)}".utf8), with: JSONReader())
        #expect(throws: RecordDecodingError.self) {
            try Report.decode(report.encoded(), with: JSONReader())
        }
    }
}
