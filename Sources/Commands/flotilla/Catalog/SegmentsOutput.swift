internal import CatalogRecords
internal import JSON
internal import RecordFormat

/// The output of segments: a table for people, or a JSON object per line for programs.
struct SegmentsOutput {
    private let segments: [Segment]

    init(_ segments: [Segment]) { self.segments = segments }

    func show(for invocation: Invocation) {
        if invocation.isJSON {
            for segment in segments { print(String(decoding: segment.encoded(), as: UTF8.self)) }
        } else if segments.isEmpty {
            print("no such segment; `flotilla segments put --help` says how to make one")
        } else {
            print(
                Table(headers: ["segment", "rule"], rows: segments.map { [$0.name, Self.ruleJSON(of: $0)] })
                    .text)
        }
    }

    private static func ruleJSON(of segment: Segment) -> String {
        var json = JSONWriter()
        json.value(segment.rule)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
