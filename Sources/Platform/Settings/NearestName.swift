/// Returns the known name that a mistyped name probably means.
func nearestName(to name: String, among known: [String]) -> String? {
    let limit = max(2, name.count / 3)
    let distances = known.map { ($0, editDistance(from: name, to: $0)) }
    guard let best = distances.min(by: { $0.1 < $1.1 }), best.1 <= limit else { return nil }
    return best.0
}

/// Returns the number of insertions, deletions and replacements between two words.
private func editDistance(from a: String, to b: String) -> Int {
    let a = Array(a.utf8)
    let b = Array(b.utf8)
    var row = Array(0...b.count)
    for i in a.indices {
        var diagonal = row[0]
        row[0] = i + 1
        for j in b.indices {
            let replaced = diagonal + (a[i] == b[j] ? 0 : 1)
            diagonal = row[j + 1]
            row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
        }
    }
    return row[b.count]
}
