package import JSON

/// A description of one Swift type of an app: the `ContentState` or the attributes of an activity type. An
/// operator writes it as JSON, for example `{"score": "int", "scorers": ["string"], "endsAt": "date.iso8601?"}`.
///
/// With a schema the gateway refuses a send that phones could not decode. Without it such an error is invisible:
/// APNs answers 200, and the phone reports nothing.
package struct ContentSchema: Sendable, Hashable {
    /// The maximum size of a schema's JSON in bytes.
    package static let bytesMax = 16 * 1024
    /// The maximum nesting depth of types.
    package static let depthMax = 16
    /// The maximum number of types in a schema.
    package static let typesMax = 1_000
    /// The maximum number of cases or raw values in one enumeration.
    package static let casesMax = 500

    /// The maximum nesting depth of a value. A deeper value cannot be read and gets the finding `malformed`.
    private static let valueDepthMax = 64

    let root: SchemaType

    init(root: SchemaType) { self.root = root }

    /// Reads a schema. Each problem is reported on the value's document. A schema with a problem must not be used.
    package init(from value: JSONValue) {
        if unsafe value.raw.count > ContentSchema.bytesMax {
            value.report("must have at most \(ContentSchema.bytesMax) bytes", as: .outOfRange)
            self.init(root: .scalar(.any))
            return
        }
        var parser = SchemaParser()
        let root = parser.parseType(value, depth: 1)
        if parser.isValid, !root.isObject {
            value.report("must describe an object, because a phone decodes one", as: .invalid)
        }
        self.init(root: root)
    }

    /// Writes the schema in its canonical form: equal schemas have equal bytes.
    package func write(to writer: inout JSONWriter) { writer.schema(root) }

    /// Returns the errors that Swift's decoder would report for this value, and the parts that it would accept
    /// but probably misread.
    ///
    /// - Parameter now: seconds since 1970. A date is plausible if it is near this time.
    package func findings(in value: RawJSON, now: Int64) -> SchemaFindings {
        let reader = JSONReader(
            limits: JSONLimits(bytesMax: max(1, value.count), depthMax: Self.valueDepthMax))
        do throws(JSONError) {
            return try reader.read(value.bytes) { findings(in: $0, now: now) }
        } catch {
            var findings = SchemaFindings()
            for problem in error.problems {
                findings.add(
                    SchemaFinding(path: problem.path, code: .malformed, message: problem.message))
            }
            return findings
        }
    }

    /// Returns the findings for a value that was parsed already.
    package func findings(in value: JSONValue, now: Int64) -> SchemaFindings {
        var check = SchemaCheck(now: now)
        check.check(value, against: root)
        return check.findings
    }
}
