package import JSON

/// What a `ContentState` or an attributes type of the app looks like, so that a send which phones would
/// throw away can be refused while somebody still looks: APNs answers 200 to it, and a phone says
/// nothing.
package struct ContentSchema: Sendable, Hashable {
    /// Bytes of a schema's JSON.
    package static let bytesMax = 16 * 1024
    /// Types inside one another.
    package static let depthMax = 16
    /// Types in the whole schema.
    package static let typesMax = 1_000
    /// Cases of one enumeration.
    package static let casesMax = 500

    let root: SchemaType

    init(root: SchemaType) { self.root = root }

    /// Reads a schema; everything that is wrong with it is noted in the document.
    package init(from value: JSONValue) {
        if unsafe value.raw.count > ContentSchema.bytesMax {
            value.report("must have at most \(ContentSchema.bytesMax) bytes", as: .outOfRange)
            self.init(root: .scalar(.any))
            return
        }
        var reading = SchemaReading()
        let root = reading.type(value, depth: 1)
        if reading.isSound, !root.isObject {
            value.report("must describe an object; that is what a phone decodes", as: .invalid)
        }
        self.init(root: root)
    }

    /// The schema in its one form: equal schemas have equal bytes.
    package func write(to writer: inout JSONWriter) { writer.schema(root) }

    /// What Swift would say to this value, and what it would take but surely not as it was meant.
    ///
    /// - Parameter now: seconds since 1970, against which dates are weighed.
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
        check.check(value, root)
        return check.findings
    }
}
