/// A table for people. Columns are as wide as their widest cell, and numbers are right-aligned.
struct Table {
    private let headers: [String]
    private let rows: [[String]]

    /// - Parameter rows: One cell per header in each row. A cell without a value is `–`.
    init(headers: [String], rows: [[String]]) {
        self.headers = headers
        self.rows = rows
    }

    var text: String {
        let allRows = [headers] + rows
        let widths = headers.indices.map { column in allRows.map { $0[column].count }.max() ?? 0 }
        let isNumeric = headers.indices.map { column in
            rows.allSatisfy { Int($0[column]) != nil || $0[column] == "–" }
        }
        let lines = allRows.map { row in
            row.indices.map { column in
                let blanks = String(repeating: " ", count: widths[column] - row[column].count)
                return isNumeric[column] ? blanks + row[column] : row[column] + blanks
            }.joined(separator: "  ")
        }
        return lines.joined(separator: "\n")
    }
}
