//! Recorded configurations and whole responses, where the recorded data are available.

use milepost::codec::json::{read, write};
use milepost::config::{ProtocolConfigView, ShardLayout, check};
use milepost_tests::recorded;
use serde_json::Value;

use milepost_interop::oracle;

/// The texts of the recorded configurations in this folder
fn configurations(folder: &str) -> Vec<String> {
    let files = recorded::files(folder, "protocol_config_").into_iter();
    files.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect()
}

#[test]
fn recorded_configurations_round_trip() {
    let texts = configurations("views");
    assert!(matches!(texts.len(), 0 | 20));
    for text in texts {
        let expected = oracle::sorted(&serde_json::from_str(&text).unwrap());
        assert_eq!(write(&read::<ProtocolConfigView>(&text).unwrap()), expected);
        assert_eq!(check(&text, true).unwrap().text, expected);
        assert_eq!(oracle::rewritten(&expected), expected);
    }
}

#[test]
fn results_of_responses_are_stored_unchanged() {
    let texts = configurations("wire");
    assert!(matches!(texts.len(), 0 | 4));
    for text in texts {
        let checked = check(&text, true).unwrap();
        // The result in the response has exactly the stored text.
        let (_, tail) = text.split_once("\"result\":").unwrap();
        assert!(tail.starts_with(&checked.text));
        assert!(tail[checked.text.len()..].starts_with(",\"id\":"));
        assert_eq!(write(&read::<ProtocolConfigView>(&checked.text).unwrap()), checked.text);
    }
}

#[test]
fn a_configuration_recorded_in_2021_round_trips() {
    let Some((_, file)) = recorded::files("rpc", "config_testnet_50").pop() else { return };
    let recorded: Value = serde_json::from_slice(&file).unwrap();
    let text = oracle::sorted(&recorded["response"]);
    let view: ProtocolConfigView = read(&text).unwrap();
    assert_eq!(view.protocol_version, 50);
    assert_eq!(view.shard_layout, None);
    assert_eq!(
        view.unknown_fields.find("avg_hidden_validator_seats_per_shard").unwrap().as_str(),
        "[0,0,0,0]"
    );
    assert_eq!(write(&view), text);
    assert_eq!(check(&text, true).unwrap().text, text);
}

#[test]
fn recorded_layouts_round_trip() {
    let Some((_, file)) = recorded::files("views", "shard_layouts").pop() else { return };
    let layouts: Vec<Value> = serde_json::from_slice(&file).unwrap();
    assert!(layouts.len() >= 7);
    for layout in layouts {
        let text = oracle::sorted(&layout);
        assert_eq!(write(&read::<ShardLayout>(&text).unwrap()), text);
    }
}
