package import JSON

/// The shape of a `ContentState` or an attributes type of the app. With it the gateway refuses a send that
/// phones could not decode. Without it such an error is invisible: APNs answers 200, and the phone reports
/// nothing.
package struct ContentSchema: Sendable, Hashable {
    /// The maximum size of a schema's JSON in bytes.
    package static let bytesMax = 16 * 1024
    /// The maximum nesting depth of types.
    package static let depthMax = 16
    /// The maximum number of types in a schema.
    package static let typesMax = 1_000
    /// The maximum number of cases in one enumeration.
    package static let casesMax = 500

    let root: SchemaType

    init(root: SchemaType) { self.root = root }

    /// Reads a schema. Every problem with it is reported in the document.
    package init(from value: JSONValue) {
        if unsafe value.raw.count > ContentSchema.bytesMax {
            value.report("must have at most \(ContentSchema.bytesMax) bytes", as: .outOfRange)
            self.init(root: .scalar(.any))
            return
        }
        var reading = SchemaParser()
        let root = reading.parseType(value, depth: 1)
        if reading.isValid, !root.isObject {
            value.report("must describe an object, because a phone decodes one", as: .invalid)
        }
        self.init(root: root)
    }

    /// Writes the schema in its canonical form: equal schemas have equal bytes.
    package func write(to writer: inout JSONWriter) { writer.schema(root) }

    /// Returns all errors of Swift's decoder for this value, and all parts that it accepts but surely reads
    /// wrongly.
    ///
    /// - Parameter now: seconds since 1970, the time with which dates are compared.
    package func findings(in value: RawJSON, now: Int64) -> SchemaFindings {
        let reader = JSONReader(limits: JSONLimits(bytesMax: max(1, value.count), depthMax: 64))
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

    package func findings(in value: JSONValue, now: Int64) -> SchemaFindings {
        var check = SchemaCheck(now: now)
        check.check(value, against: root)
        return check.findings
    }
}
