//! The query of a URL: names and values, decoded as forms encode them.
//!
//! `+` is a space, and `%` before anything else than two hexadecimal digits is a `%`, as the URL
//! standard has it. Parameters of unknown names are left out by those who ask for known ones.

/// The parameters of a query, in its order
#[derive(Debug, Default)]
pub(super) struct QueryString(Vec<(String, String)>);

impl QueryString {
    pub(super) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Self(pairs.map(|(name, value)| (decode(name), decode(value))).collect())
    }

    /// The first value of a name
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a name
    pub(super) fn all<'query>(&'query self, name: &str) -> impl Iterator<Item = &'query str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

fn decode(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (bytes, mut decoded, mut index) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while let Some(byte) = bytes.get(index) {
        index += 1;
        match (byte, digit(bytes.get(index)), digit(bytes.get(index + 1))) {
            (b'%', Some(high), Some(low)) => {
                // At most 255.
                decoded.push((high * 16 + low) as u8);
                index += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            (byte, ..) => decoded.push(*byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        let query = QueryString::parse("tx=a&tx=b&&include=gas%2Clogs&x&%74x=c+d&e=%&f=%4&g=%zz");
        assert_eq!(query.all("tx").collect::<Vec<_>>(), ["a", "b", "c d"]);
        assert_eq!(query.get("include"), Some("gas,logs"));
        assert_eq!((query.get("x"), query.get("y")), (Some(""), None));
        assert_eq!(
            (query.get("e"), query.get("f"), query.get("g")),
            (Some("%"), Some("%4"), Some("%zz"))
        );
        assert_eq!(QueryString::parse("a=%ff").get("a"), Some("\u{fffd}"));
    }
}
