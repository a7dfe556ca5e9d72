package import ContentSchemas
package import JSON

/// Returns the JSON value in the text, which is a test's own. Traps if the text is not JSON.
package func raw(_ text: String) -> RawJSON {
    do { return try RawJSON(checking: Array(text.utf8), with: JSONReader()) } catch {
        preconditionFailure("the test's own JSON: \(error)")
    }
}

/// Returns the content schema in the text, which is a test's own. Traps if the text is not JSON or not a schema.
package func schema(_ text: String) -> ContentSchema {
    do {
        return try JSONReader().read(Array(text.utf8)) { ContentSchema(from: $0) }
    } catch {
        preconditionFailure("the test's own schema: \(error)")
    }
}
