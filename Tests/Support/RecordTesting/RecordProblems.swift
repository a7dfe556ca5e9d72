internal import JSON
package import RecordFormat

/// Returns the record's JSON as text.
package func text(of record: some JSONRecord) -> String { String(decoding: record.encoded(), as: UTF8.self) }

/// Returns the problems that a reader of the record finds in the text, each as its path and code. Returns nothing for
/// a valid record.
package func problems<R: JSONRecord>(reading type: R.Type, from text: String) -> [String] {
    do {
        _ = try R.decode(Array(text.utf8), with: JSONReader())
        return []
    } catch .malformed(let error) {
        return error.problems.map { "\($0.path) \($0.code.rawValue)" }
    } catch {
        return ["\(error)"]
    }
}
