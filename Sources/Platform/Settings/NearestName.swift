/// Returns the known name that a mistyped name probably means, or nil if none is similar.
func nearestName(to name: String, among knownNames: [String]) -> String? {
    // Short names may have two typing errors, and longer ones an error in every third character.
    let distanceMax = max(2, name.count / 3)
    let candidates = knownNames.map { (name: $0, distance: editDistance(from: name, to: $0)) }
    guard let nearest = candidates.min(by: { $0.distance < $1.distance }), nearest.distance <= distanceMax
    else { return nil }
    return nearest.name
}

/// Returns the number of insertions, deletions and replacements between two words (Levenshtein distance).
private func editDistance(from first: String, to second: String) -> Int {
    let a = Array(first.utf8)
    let b = Array(second.utf8)
    // `row[j]` is the distance between the bytes of `a` so far and the first `j` bytes of `b`.
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
