internal import Identifiers
package import JSON

/// The layout of an activity type for people: which fields of its state are scores, progress, times and texts. The
/// console draws its preview and the buttons of a live match from it. Phones never get it.
package struct ActivityLayout: Sendable, Hashable {
    package static let linesMax = 8
    package static let stepsMax = 6
    package static let sideCount = 2
    private static let progressRange = 1...1_000_000
    private static let addRange = -100...100

    /// One of two sides, such as a team.
    package struct Side: Sendable, Hashable {
        /// The field of the state that holds the score.
        package var score: String
        /// The attribute that holds the name. Nil uses the name of the score's field.
        package var name: String?

        package init(score: String, name: String? = nil) { (self.score, self.name) = (score, name) }
    }

    /// A field of the state that grows up to a number.
    package struct Progress: Sendable, Hashable {
        package var field: String
        package var end: Int

        package init(field: String, end: Int) { (self.field, self.end) = (field, end) }
    }

    /// A button of a live match, which adds a number to a field of the state.
    package struct Step: Sendable, Hashable {
        package var label: String
        package var field: String
        package var addend: Int

        package init(label: String, field: String, addend: Int) {
            (self.label, self.field, self.addend) = (label, field, addend)
        }
    }

    /// The attribute that holds the title.
    package var title: String?
    /// Two sides, or none.
    package var sides: [Side] = []
    package var progress: Progress?
    /// The field of the state that holds the time to count down to.
    package var countdown: String?
    /// The fields of the state that are shown as lines of text.
    package var lines: [String] = []
    package var steps: [Step] = []

    package init() {}

    package init(from value: JSONValue) {
        let object = value.object()
        title = object["title"].optional?.name()
        if let found = object["sides"].optional {
            for element in found.array(countMax: Self.sideCount) {
                let side = element.object()
                sides.append(Side(score: side["score"].name(), name: side["name"].optional?.name()))
            }
            if sides.count == 1 { found.report("must have two sides or none", as: .invalid) }
        }
        if let found = object["progress"].optional {
            let progress = found.object()
            self.progress = Progress(
                field: progress["field"].name(), end: progress["end"].int(in: Self.progressRange))
        }
        countdown = object["countdown"].optional?.name()
        lines = object["lines"].optional?.names(countMax: Self.linesMax) ?? []
        if let found = object["steps"].optional {
            for element in found.array(countMax: Self.stepsMax) {
                let step = element.object()
                steps.append(
                    Step(
                        label: step["label"].name(), field: step["field"].name(),
                        addend: step["add"].int(in: Self.addRange)))
            }
        }
    }

    /// Reports the members of a layout in a request that no version of this program knows. Records of a newer version
    /// may have more members.
    package static func reportUnknownFields(in value: JSONValue) {
        let object = value.object()
        object["progress"].optional?.object().reportUnknownFields()
        if let sides = object["sides"].optional {
            for side in sides.array(countMax: sideCount) { side.object().reportUnknownFields() }
        }
        if let steps = object["steps"].optional {
            for step in steps.array(countMax: stepsMax) { step.object().reportUnknownFields() }
        }
        object.reportUnknownFields()
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("title", title)
        writer.objects("sides", unlessEmpty: sides) { side, writer in
            writer.field("score", side.score)
            writer.field("name", side.name)
        }
        if let progress {
            writer.name("progress")
            writer.beginObject()
            writer.field("field", progress.field)
            writer.field("end", progress.end)
            writer.endObject()
        }
        writer.field("countdown", countdown)
        writer.field("lines", lines.isEmpty ? nil : lines)
        writer.objects("steps", unlessEmpty: steps) { step, writer in
            writer.field("label", step.label)
            writer.field("field", step.field)
            writer.field("add", step.addend)
        }
        writer.endObject()
    }
}
