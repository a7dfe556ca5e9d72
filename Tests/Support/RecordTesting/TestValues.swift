package import ContentSchemas
package import JSON

/// Returns a JSON value that the test's author wrote.
package func raw(_ text: String) -> RawJSON {
    do { return try RawJSON(checking: Array(text.utf8), with: JSONReader()) } catch {
        preconditionFailure("the test's own JSON: \(error)")
    }
}

/// Returns a schema that the test's author wrote.
package func schema(_ text: String) -> ContentSchema {
    do {
        return try JSONReader().read(Array(text.utf8)) { ContentSchema(from: $0) }
    } catch {
        preconditionFailure("the test's own schema: \(error)")
    }
}
