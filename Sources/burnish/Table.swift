/// Rows of text for people.
enum Table {
    /// Columns, each as wide as its widest cell.
    static func text(_ rows: [[String]]) -> String {
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
